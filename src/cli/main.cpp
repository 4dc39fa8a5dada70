#include <string>
#include <vector>

#include "cli/application.h"
#include "cli/terminal.h"

int main(int argc, char** argv) {
  sshx::cli::prepare_standard_streams();
  const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  return sshx::cli::run_application(arguments);
}
