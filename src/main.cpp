/// The program's entry and no more: all else is in attune_driver, where tests reach it.
#include "src/program.h"

int main(int argc, char** argv) { return attune::driver::run_program(argc, argv); }
