// The parts of the engine that mutation testing changes, each with the tests that must notice.
//
// A slice is small enough to finish on two cores while somebody waits. Its tests are those of its
// own folder and of the layers above that use it directly. The simulator is not among them: it takes
// too long for each mutant, and a line that only it checks deserves a test that says what is wrong.

export interface Slice {
  /** Folder of the score table this slice counts for. */
  readonly folder: string;
  /** Sources that are changed, as globs from the repository's root. */
  readonly mutate: readonly string[];
  /** Tests that are run: files, or folders without those below, from the repository's root. */
  readonly tests: readonly string[];
  /** Sources that remember or set up something once: survivors meet new modules once more. */
  readonly caches?: readonly string[];
}

const LOG_TESTS = ['worker/log', 'worker/storage'];
/** What the bytes of the log are made of: pure functions, and files in memory. */
const BYTES = [
  'bookmark,checksum,checksum-version-1,pages,record,segment,segment-header,segment-index',
  'segment-remains,window-reader,xxh32',
].join();
const BYTES_TESTS = ['bookmark', 'checksum', 'pages', 'record', 'segment'].map(
  (name) => `worker/log/${name}.test.ts`,
);
const SERIALIZER_TESTS = ['src/serializer'];
const GATE_TESTS = [
  'worker/io',
  'worker/globals',
  'worker/host/object-host.test.ts',
  'worker/calls',
];

export const SLICES: Readonly<Record<string, Slice>> = {
  'log-upkeep': {
    folder: 'worker/log',
    mutate: ['worker/log/{log-end,sealed-segments}.ts'],
    // Tested on their own, so without the tests that open a whole object.
    tests: ['worker/log/log-end.test.ts', 'worker/log/sealed-segments.test.ts'],
  },
  'log-checkpoint': {
    folder: 'worker/log',
    mutate: ['worker/log/{checkpoint-file,main-file}.ts'],
    tests: ['worker/log/checkpoint-file.test.ts', 'worker/log/main-file.test.ts'],
  },
  'log-bytes': {
    folder: 'worker/log',
    mutate: [`worker/log/{${BYTES}}.ts`],
    tests: BYTES_TESTS,
  },
  'log-files': {
    folder: 'worker/log',
    mutate: ['worker/log/{commit-log,committed-pages,page-store}.ts'],
    tests: LOG_TESTS,
  },
  'log-history': {
    folder: 'worker/log',
    mutate: [
      'worker/log/*.ts',
      '!worker/log/{log-end,sealed-segments,checkpoint-file,main-file}.ts',
      '!worker/log/{commit-log,committed-pages,page-store}.ts',
      `!worker/log/{${BYTES}}.ts`,
    ],
    tests: LOG_TESTS,
  },
  vfs: {
    folder: 'worker/vfs',
    mutate: ['worker/vfs/*.ts', '!worker/testing/sqlite.ts'],
    tests: ['worker/vfs', 'worker/sql/database.test.ts'],
    caches: ['worker/vfs/log-vfs.ts', 'worker/vfs/sqlite-module.ts', 'worker/vfs/wasm-memory.ts'],
  },
  storage: {
    folder: 'worker/storage',
    mutate: ['worker/storage/*.ts'],
    tests: [
      'worker/storage',
      'worker/host/alarms.test.ts',
      'worker/host/object-host.test.ts',
      'worker/host/replace-database.test.ts',
      'worker/sessions',
      'worker/calls',
      'worker/entries/node-objects.test.ts',
    ],
  },
  kv: {
    folder: 'worker/kv',
    mutate: ['worker/kv/*.ts'],
    tests: ['worker/kv', 'worker/storage', 'worker/entries/node-objects.test.ts'],
  },
  gates: {
    folder: 'worker/io',
    mutate: ['worker/io/*.ts'],
    tests: GATE_TESTS,
  },
  encode: {
    folder: 'src/serializer',
    mutate: ['src/serializer/{encode,byte-writer,slots,object-kind,view-layout,wire}.ts'],
    tests: SERIALIZER_TESTS,
    caches: ['src/serializer/object-kind.ts'],
  },
  decode: {
    folder: 'src/serializer',
    mutate: [
      'src/serializer/*.ts',
      '!src/serializer/{encode,byte-writer,slots,object-kind,view-layout,wire}.ts',
    ],
    tests: SERIALIZER_TESTS,
    caches: ['src/serializer/byte-reader.ts', 'src/serializer/blob-bytes.ts'],
  },
};
