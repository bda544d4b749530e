// `/bin/node` of the root without glibc: the program beside it, with missing-symbols.c loaded first.

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int count, char **arguments) {
  setenv("LD_PRELOAD", "/lib/missing-symbols.so", 1);
  execv("/bin/node-on-musl", arguments);
  perror("/bin/node-on-musl");
  return 127;
}
