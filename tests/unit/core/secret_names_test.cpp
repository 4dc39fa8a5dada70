#include <gtest/gtest.h>

#include <string_view>

#include "core/secret_names.h"

namespace sshx {
namespace {

TEST(IsSecretName, KnowsNamesInEverySpelling) {
  for (const std::string_view name :
       {"PASSWORD",      "DB_PASSWORD",  "db-password", "dbPassword", "db.password",
        "--password",    "-password",    "PGPASSWORD",  "MYSQL_PWD",  "Pwd",
        "pass",          "APIKEY",       "api_key",     "X-Api-Key",  "AWS_SECRET_ACCESS_KEY",
        "client_secret", "access_token", "authToken",   "_authToken", "GITHUB_PAT",
        "passphrase",    "-passin",      "requirepass"}) {
    EXPECT_TRUE(is_secret_name(name)) << name;
  }
}

TEST(IsSecretName, PassesNamesOfThingsAroundASecret) {
  for (const std::string_view name : {"",
                                      "-",
                                      "PWD",
                                      "OLDPWD",
                                      "PATH",
                                      "KEY",
                                      "user",
                                      "bypass",
                                      "compass",
                                      "pattern",
                                      "PASSWORD_FILE",
                                      "password-stdin",
                                      "passwordFile",
                                      "no-password",
                                      "ask-become-pass",
                                      "max_tokens",
                                      "tokenizer",
                                      "PasswordAuthentication",
                                      "passwordauthentication",
                                      "NumberOfPasswordPrompts",
                                      "token_url",
                                      "secret-id",
                                      "SSH_AUTH_SOCK",
                                      "pass-through"}) {
    EXPECT_FALSE(is_secret_name(name)) << name;
  }
}

TEST(LooksRandom, TellsPasswordsFromWords) {
  for (const std::string_view word : {"hunter2", "a1b2c3d4", "dXNlcjpwYXNz", "Tr0ub4dor&3"}) {
    EXPECT_TRUE(looks_random(word)) << word;
  }
  for (const std::string_view word :
       {"", "changed", "expired", "12345678", "v2", "JavaScript", "Authentication"}) {
    EXPECT_FALSE(looks_random(word)) << word;
  }
}

}  // namespace
}  // namespace sshx
