// The parts of the engine that mutation testing changes, each with the tests that must notice.
//
// A slice is small enough to finish on two cores while somebody waits. Its tests are the tests of its
// own folder and of the layers above that use it directly. The simulator is excluded: it takes too long
// for each mutant, and a line that only it checks deserves a test that names the fault.

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

const LOG_TESTS = ['worker/engine/log', 'worker/engine/storage'];
/** The bytes of the log: pure functions, and files in memory. */
const BYTES = 'bookmark,checksum,log-position,pages,record,segment';
const BYTES_TESTS = ['bookmark', 'checksum', 'pages', 'record', 'segment'].map(
  (name) => `worker/engine/log/${name}.test.ts`,
);
/** Files of the log that have slices of their own: those of branches, and of thinning. */
const BRANCH_LOG = 'kept-branches,branch-main,kept-pages';
const FOLDING = 'folding,thinning';
const FOLDING_TESTS = [
  ...['thinning', 'thinned-branches', 'thinned-segments'],
  ...['folded-records', 'thinning-failures'],
].map((name) => `worker/engine/log/${name}.test.ts`);
const entryTests = (...names: string[]) =>
  names.map((name) => `worker/start/entries/${name}.test.ts`);
const diffTests = (...names: string[]) => names.map((name) => `worker/engine/diff/${name}.test.ts`);
/** The pages of two states, without SQLite. */
const TREES = ['changed-keys', 'key-order', 'state-pages', 'touched-pages', 'tree-page'];
const APPLICATION = 'application,changeset,sequences';
const followTests = (...names: string[]) =>
  names.map((name) => `packages/follow/copy/${name}.test.ts`);
/** The server's side on this package's own host; the same tests run in workerd. */
const FOLLOWERS_HERE = ['followers-here', 'instances', 'served-classes'].map(
  (name) => `e2e/workerd/follow/${name}.test.ts`,
);
/** Pure functions of the server's side. */
const FOLLOW_VALUES = 'message-rate,options,outcome';
const SERIALIZER_TESTS = ['src/shared/values'];
const GATE_TESTS = [
  'worker/objects/io',
  'worker/realm/globals',
  'worker/objects/host/object-host.test.ts',
  'worker/objects/calls',
];

const LIVE_TESTS = [
  'src/shared/live',
  'worker/objects/calls/live-calls.test.ts',
  'worker/objects/calls/live-storage.test.ts',
  'worker/engine/storage/accesses.test.ts',
  'worker/engine/storage/write-set.test.ts',
];

export const SLICES: Readonly<Record<string, Slice>> = {
  'log-upkeep': {
    folder: 'worker/engine/log',
    mutate: ['worker/engine/log/{commit-log,sealed-segments}.ts'],
    // Tested on their own, so without the tests that open a whole object.
    tests: ['worker/engine/log/commit-log.test.ts', 'worker/engine/log/sealed-segments.test.ts'],
  },
  'log-checkpoint': {
    folder: 'worker/engine/log',
    mutate: ['worker/engine/log/{checkpoint-file,main-file}.ts'],
    tests: ['worker/engine/log/checkpoint-file.test.ts', 'worker/engine/log/main-file.test.ts'],
  },
  'log-bytes': {
    folder: 'worker/engine/log',
    mutate: [`worker/engine/log/{${BYTES}}.ts`],
    tests: BYTES_TESTS,
  },
  'log-files': {
    folder: 'worker/engine/log',
    mutate: ['worker/engine/log/{commit-log,committed-pages,page-store}.ts'],
    tests: LOG_TESTS,
  },
  'log-history': {
    folder: 'worker/engine/log',
    mutate: [
      'worker/engine/log/*.ts',
      '!worker/engine/log/{commit-log,sealed-segments,checkpoint-file,main-file}.ts',
      '!worker/engine/log/{commit-log,committed-pages,page-store}.ts',
      `!worker/engine/log/{${BYTES},${BRANCH_LOG},${FOLDING}}.ts`,
    ],
    tests: LOG_TESTS,
  },
  'log-folding': {
    folder: 'worker/engine/log',
    mutate: [`worker/engine/log/{${FOLDING}}.ts`],
    tests: FOLDING_TESTS,
  },
  'diff-pages': {
    folder: 'worker/engine/diff',
    mutate: [`worker/engine/diff/{${TREES}}.ts`],
    // Tested on their own, so without the tests that compare whole states.
    tests: diffTests(...TREES),
  },
  diff: {
    folder: 'worker/engine/diff',
    mutate: ['worker/engine/diff/*.ts', `!worker/engine/diff/{${TREES},${APPLICATION}}.ts`],
    tests: diffTests('compared-states', 'full-text', 'shapes', 'application', 'differences'),
  },
  merge: {
    folder: 'worker/engine/storage',
    mutate: [
      'worker/engine/storage/{merge,comparison}.ts',
      `worker/engine/diff/{${APPLICATION}}.ts`,
    ],
    tests: [
      ...diffTests('application', 'compared-states'),
      ...['comparison', 'merge'].map((name) => `worker/engine/storage/${name}.test.ts`),
    ],
  },
  branches: {
    folder: 'worker/objects/host',
    mutate: [
      'worker/objects/host/branches.ts',
      'worker/objects/sessions/page-branches.ts',
      'worker/engine/storage/branch-point.ts',
      `worker/engine/log/{${BRANCH_LOG}}.ts`,
    ],
    tests: [
      ...['kept-branches', 'pinned-states', 'branch-main', 'kept-pages'].map(
        (name) => `worker/engine/log/${name}.test.ts`,
      ),
      'worker/engine/storage/branch-point.test.ts',
      ...['branches', 'open-branches', 'left-branches', 'object-manager'].map(
        (name) => `worker/objects/host/${name}.test.ts`,
      ),
      'worker/objects/sessions/page-branches.test.ts',
      'worker/objects/sessions/page-sessions.test.ts',
      'worker/objects/sessions/page-transaction.test.ts',
      ...entryTests('branches', 'branch-files', 'branch-merge', 'history-limits'),
    ],
  },
  'follow-values': {
    folder: 'packages/follow',
    mutate: [
      'packages/follow/changes/changes-bytes.ts',
      `packages/follow/server/{${FOLLOW_VALUES}}.ts`,
    ],
    tests: ['packages/follow/changes', 'packages/follow/server'],
  },
  'follow-server': {
    folder: 'packages/follow',
    mutate: ['packages/follow/server/*.ts', `!packages/follow/server/{${FOLLOW_VALUES}}.ts`],
    tests: [
      ...followTests('replica', 'lost-answers', 'hostile-followers'),
      'packages/follow/server/follower-sockets.test.ts',
      ...FOLLOWERS_HERE,
    ],
  },
  'follow-capture': {
    folder: 'packages/follow',
    mutate: ['packages/follow/capture/*.ts', 'packages/follow/changes/exact-text.ts'],
    tests: [
      'packages/follow/changes',
      ...followTests('capture', 'noted-storage', 'noted-tables', 'replaced-rows', 'replica'),
    ],
  },
  'follow-protocol': {
    folder: 'packages/follow',
    mutate: ['packages/follow/protocol/*.ts'],
    tests: [
      'packages/follow/protocol',
      ...followTests('replica', 'lost-answers'),
      ...FOLLOWERS_HERE,
    ],
  },
  'follow-copy': {
    folder: 'packages/follow/copy',
    mutate: ['packages/follow/copy/*.ts', 'packages/follow/app/*.ts'],
    tests: ['packages/follow/copy', 'packages/follow/app'],
  },
  vfs: {
    folder: 'worker/engine/vfs',
    mutate: ['worker/engine/vfs/*.ts'],
    tests: ['worker/engine/vfs', 'worker/engine/sql/database.test.ts'],
    caches: [
      'worker/engine/vfs/log-vfs.ts',
      'worker/engine/vfs/sqlite-module.ts',
      'worker/engine/vfs/wasm-memory.ts',
    ],
  },
  storage: {
    folder: 'worker/engine/storage',
    mutate: ['worker/engine/storage/*.ts', '!worker/engine/storage/{merge,comparison}.ts'],
    tests: [
      'worker/engine/storage',
      'worker/objects/host/alarms.test.ts',
      'worker/objects/host/object-host.test.ts',
      'worker/objects/host/replace-database.test.ts',
      'worker/objects/sessions',
      'worker/objects/calls',
      'worker/start/entries/node-objects.test.ts',
    ],
  },
  kv: {
    folder: 'worker/engine/kv',
    mutate: ['worker/engine/kv/*.ts'],
    tests: [
      'worker/engine/kv',
      'worker/engine/storage',
      'worker/start/entries/node-objects.test.ts',
    ],
  },
  gates: {
    folder: 'worker/objects/io',
    mutate: ['worker/objects/io/*.ts'],
    tests: GATE_TESTS,
  },
  encode: {
    folder: 'src/shared/values',
    mutate: ['src/shared/values/{encode,byte-writer,slots,object-kind,view-layout,wire}.ts'],
    tests: SERIALIZER_TESTS,
    caches: ['src/shared/values/object-kind.ts'],
  },
  decode: {
    folder: 'src/shared/values',
    mutate: [
      'src/shared/values/*.ts',
      '!src/shared/values/{encode,byte-writer,slots,object-kind,view-layout,wire}.ts',
    ],
    tests: SERIALIZER_TESTS,
    caches: ['src/shared/values/byte-reader.ts', 'src/shared/values/blob-bytes.ts'],
  },
  boot: {
    folder: 'worker/start/boot',
    mutate: ['worker/start/boot/*.ts'],
    tests: [
      'worker/start/boot',
      'src/page/leader/deployments.test.ts',
      'src/page/leader/starts.test.ts',
    ],
  },
  client: {
    folder: 'src/page/storage',
    mutate: ['src/page/storage/*.ts'],
    tests: ['src/page/storage', 'src/shared/wire'],
  },
  live: {
    folder: 'src/shared/live',
    mutate: ['{src/shared,worker/objects}/live/*.ts'],
    tests: LIVE_TESTS,
  },
  instance: {
    folder: 'worker/objects/instance',
    mutate: ['worker/objects/instance/*.ts'],
    tests: [
      'worker/objects/instance',
      'worker/objects/host',
      'worker/objects/calls',
      'worker/start/entries/node-objects.test.ts',
    ],
  },
  host: {
    folder: 'worker/objects/host',
    mutate: ['worker/objects/host/*.ts'],
    tests: ['worker/objects/host', 'worker/objects/calls', 'worker/start/entries'],
  },
};
