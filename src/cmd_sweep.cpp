#include "src/command.h"
#include "src/mpi_session.h"

namespace attune::driver {

namespace {
struct SweepFlags {
  std::string config, out;
};
}  // namespace

Command make_sweep_command() {
  auto flags = std::make_shared<SweepFlags>();
  return {.name = "sweep",
          .help = "Measure all variants over sizes, dtypes and rank counts; validate; write a run folder",
          .options =
              [flags](CLI::App& app) {
                app.add_option("--config", flags->config, "Sweep configuration (JSON)")->required();
                app.add_option("--out", flags->out, "Run folder to write")->required();
              },
          .run =
              [flags] {
                return with_mpi([&](MpiSession&) -> Status {
                  throw Error(Status::unsupported, "sweep: not in this build yet", "use another command");
                });
              }};
}

}  // namespace attune::driver
