// What the tidy tests accept although it breaks a rule, each with its reason.
//
// Each list is exact: an entry whose cause is gone fails the test until it is deleted.

const BY_OBJECT = 'a fact about each object it is keyed by, which it does not keep alive';
const FRIEND = 'written once, while the class is defined: gives this module its private fields';
const COLLECTED = 'the engine calls it after garbage collection; nothing reads it';
const SCRATCH = 'scratch memory for all objects of a worker, never used across turns';
const REALM = 'the one of this global scope';

/** Module-level mutable state of the product, `file name`, and why it is not a parameter. */
export const MODULE_STATE: Readonly<Record<string, string>> = {
  'src/client/browser.ts collected': COLLECTED,
  'src/client-code.ts client': 'a page has one client',
  'src/client-code.ts loading': 'a page loads its client once',
  'src/client-code.ts workers': 'workers wait here until the page has its client',
  'src/client/leader-finder.ts workerIds': BY_OBJECT,
  'src/http/body.ts streamsTaken': 'a fact about the engine, tested once',
  'src/http/stream-length.ts lengths': BY_OBJECT,
  'src/io/async-frame.ts current': `${REALM}: the frame of the code that runs`,
  'src/io/async-frame.ts isFollowing': `${REALM}: whether its promises are followed`,
  'src/io/current-context.ts tasks': `${REALM}: whose task is running`,
  'src/membrane/imported.ts collected': COLLECTED,
  'src/membrane/payload.ts lastNumber': 'numbers must differ in all connections of a realm',
  'src/membrane/signal.ts controllers': BY_OBJECT,
  'src/playwright/test-objects.ts known': BY_OBJECT,
  'src/react/use-live.ts lives':
    'facts about each handle, which it does not keep alive: components share live values',
  'src/serializer/blob-bytes.ts thread': 'a thread of Node, started by the first Blob',
  'src/serializer/byte-reader.ts cache': 'short strings decoded before; holds no state but speed',
  'src/serializer/encode.ts idle':
    'an encoder kept for the next call, so that its buffer is reused',
  'src/serializer/object-kind.ts kinds': BY_OBJECT,
  'src/sockets/web-socket.ts hibernateSocket': FRIEND,
  'src/sockets/web-socket.ts socketParts': FRIEND,
  'src/stubs/known-stubs.ts addresses': BY_OBJECT,
  'src/stubs/known-stubs.ts callers': BY_OBJECT,
  'src/stubs/known-stubs.ts fixed': BY_OBJECT,
  'src/stubs/known-stubs.ts liveCallers': BY_OBJECT,
  'src/stubs/known-stubs.ts members': BY_OBJECT,
  'src/stubs/known-stubs.ts rpcStubs': BY_OBJECT,
  'src/stubs/loopback.ts classes': BY_OBJECT,
  'worker/entries/object-tools.ts homes': BY_OBJECT,
  'worker/entries/object-tools.ts running': `${REALM}: reset() names no host`,
  'worker/globals/realm.ts realm': `${REALM}: the globals its hosts replace together`,
  'worker/library/provided.ts latest': 'modules read env while they load, before a host starts',
  'worker/library/running-hosts.ts running': `${REALM}: \`cloudflare:workers\` is a module`,
  'worker/log/checksum-version-1.ts high': 'the second result of a function that must not allocate',
  'worker/log/committed-pages.ts run': SCRATCH,
  'worker/log/log-end.ts ZEROS': 'a constant: zeros to write',
  'worker/log/earlier-pages.ts wholePage': SCRATCH,
  'worker/log/record.ts headerBytes': SCRATCH,
  'worker/log/record.ts headerDoubles': SCRATCH,
  'worker/log/record.ts headerWords': SCRATCH,
  'worker/log/restore.ts writer': SCRATCH,
  'worker/log/page-store.ts wholePage': SCRATCH,
  'worker/log/past-state.ts wholePage': SCRATCH,
  'worker/log/pages.ts ZERO_WORDS': 'a constant: a page of zeros',
  'worker/log/transaction-pages.ts before': SCRATCH,
  'worker/log/transaction-pages.ts spilledPage': SCRATCH,
  'worker/log/transaction-pages.ts writer': SCRATCH,
  'worker/log/window-reader.ts windowBytes': SCRATCH,
  'worker/log/window-reader.ts windowOwner': SCRATCH,
  'worker/modules/diagnostics-channel.ts channels': 'channels are shared by name, as in Node',
  'worker/sql/cursor.ts DROPPED': COLLECTED,
  'worker/sql/guard.ts Guard.#ofModule': BY_OBJECT,
  'worker/sql/regulator.ts Regulator.#ofModule': BY_OBJECT,
  'worker/sql/sql-error.ts namesOfModule': BY_OBJECT,
  'worker/vfs/sqlite-module.ts loading': 'a realm compiles SQLite once',
};

const PUBLIC_TYPE = 'the public interface, and the class that implements it';
const PLATFORM = 'the same export of the entry of each platform';

/** Names that two modules of a product declare and export. */
export const SHARED_NAMES: Readonly<Record<string, string>> = {
  AlarmInvocationInfo: PUBLIC_TYPE,
  DurableObjectFacets: PUBLIC_TYPE,
  DurableObjectId: PUBLIC_TYPE,
  DurableObjectNamespace: PUBLIC_TYPE,
  DurableObjectState: PUBLIC_TYPE,
  DurableObjectStorage: PUBLIC_TYPE,
  RemoteStorage: PUBLIC_TYPE,
  RpcStub: PUBLIC_TYPE,
  SqlStorage: PUBLIC_TYPE,
  SyncKvStorage: PUBLIC_TYPE,
  createObjects: PLATFORM,
  evictDurableObject: PLATFORM,
  listDurableObjectIds: PLATFORM,
  reset: PLATFORM,
  runDurableObjectAlarm: PLATFORM,
  runInDurableObject: PLATFORM,
  serve: PLATFORM,
};

/** Tests without a rule: `file`, a folder, or `file title` as far as it goes, and why. */
export const TESTS_WITHOUT_RULE: Readonly<Record<string, string>> = {
  'e2e/suite': 'tests of the tests',
  'e2e/conformance': 'tests of the tests',
  'e2e/fuzz': 'tests of the tests',
  'e2e/hostile/attack.test.ts': 'tests of the tests',
  'e2e/mutants': 'tests of the tests',
  'e2e/specs/demo.spec.ts': 'what the panels of the demo do is no promise of the package',
  'e2e/specs/demo-objects.spec.ts': 'what the panels of the demo do is no promise of the package',
  'worker/log/pages.test.ts': 'a building block: its users have the rules',
  'worker/log/slab.test.ts': 'a building block: its users have the rules',
  'worker/sql/database.test.ts trusted statements': 'a building block: no user can reach it',
  'worker/sql/tokens.test.ts': 'a building block: its users have the rules',
  'worker/vfs/wasm-memory.test.ts': 'a building block: its users have the rules',
};
