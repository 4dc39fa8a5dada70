#include <string>
#include <vector>

#include "cli/application.h"

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  return sshx::cli::run_application(arguments);
}
