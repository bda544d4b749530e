// The functions that Debian's libstdc++ and libgcc_s, and a Node built with a later compiler, expect beside musl. Named
// as those libraries name them. Loaded before them by start-node.c.

#define _GNU_SOURCE
#include <link.h>
#include <locale.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

char __libc_single_threaded = 0;

int __cpu_model[4];

int __cpu_indicator_init(void) { return 0; }

uint32_t arc4random(void) {
  uint32_t value;
  if (getrandom(&value, sizeof value, 0) != sizeof value) abort();
  return value;
}

size_t __strftime_l(char *to, size_t size, const char *format, const struct tm *time, locale_t locale) {
  return strftime_l(to, size, format, time, locale);
}

// Where an exception finds the tables of the code that it passes, as glibc lays the answer out.
struct dl_find_object {
  unsigned long long flags;
  void *start, *end;
  struct link_map *map;
  void *eh_frame;
  unsigned long long reserved[7];
};

struct search {
  uintptr_t pc;
  struct dl_find_object *found;
};

static int find_in(struct dl_phdr_info *info, size_t size, void *data) {
  struct search *search = data;
  uintptr_t start = UINTPTR_MAX, end = 0, eh_frame = 0;
  int is_here = 0;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *header = &info->dlpi_phdr[i];
    uintptr_t at = info->dlpi_addr + header->p_vaddr;
    if (header->p_type == PT_GNU_EH_FRAME) eh_frame = at;
    if (header->p_type != PT_LOAD) continue;
    if (at < start) start = at;
    if (at + header->p_memsz > end) end = at + header->p_memsz;
    if (search->pc >= at && search->pc < at + header->p_memsz) is_here = 1;
  }
  if (!is_here || eh_frame == 0) return 0;
  *search->found = (struct dl_find_object){
      .start = (void *)start, .end = (void *)end, .eh_frame = (void *)eh_frame};
  return 1;
}

int _dl_find_object(void *pc, struct dl_find_object *found) {
  struct search search = {(uintptr_t)pc, found};
  return dl_iterate_phdr(find_in, &search) ? 0 : -1;
}

// Destructors of a thread's variables, the last one first.
struct ending {
  void (*run)(void *);
  void *object;
  struct ending *next;
};

static pthread_key_t endings;
static pthread_once_t has_endings = PTHREAD_ONCE_INIT;

static void run_endings(void *first) {
  for (struct ending *ending = first; ending != NULL;) {
    struct ending *next = ending->next;
    ending->run(ending->object);
    free(ending);
    ending = next;
  }
}

static void make_endings(void) {
  if (pthread_key_create(&endings, run_endings) != 0) abort();
}

int __cxa_thread_atexit_impl(void (*run)(void *), void *object, void *library) {
  pthread_once(&has_endings, make_endings);
  struct ending *ending = malloc(sizeof *ending);
  if (ending == NULL) return -1;
  *ending = (struct ending){run, object, pthread_getspecific(endings)};
  return pthread_setspecific(endings, ending);
}

// std::string::_M_replace_cold(to, size_before, from, size, tail), which is new in GCC 13: `from` is a part of the same
// string.
void _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE15_M_replace_coldEPcmPKcmm(
    void *self, char *to, size_t size_before, const char *from, size_t size, size_t tail) {
  char *copy = malloc(size + 1);
  if (copy == NULL) abort();
  memcpy(copy, from, size);
  memmove(to + size, to + size_before, tail);
  memcpy(to, copy, size);
  free(copy);
}
