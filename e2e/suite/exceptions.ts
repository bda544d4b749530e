// Exceptions that the tidy tests accept, each with its reason.
//
// Each list is exact: an entry whose cause is gone fails the test until it is deleted.

const BY_OBJECT = 'a fact about each object it is keyed by, which it does not keep alive';
const FRIEND = 'written once, while the class is defined: gives this module its private fields';
const COLLECTED = 'the engine calls it after garbage collection; nothing reads it';
const SCRATCH = 'scratch memory for all objects of a worker, never used across turns';
const REALM = 'the one of this global scope';

/** Module-level mutable state of the product, `file name`, and why it is not a parameter. */
export const MODULE_STATE: Readonly<Record<string, string>> = {
  'packages/follow/app/followed.ts statusesOf': BY_OBJECT,
  'src/page/leader/browser.ts collected': COLLECTED,
  'src/page/start/client-code.ts client': 'a page has one client',
  'src/page/start/client-code.ts loading': 'a page loads its client once',
  'src/page/start/client-code.ts workers': 'workers wait here until the page has its client',
  'src/page/leader/leader-finder.ts workerIds': BY_OBJECT,
  'src/page/leader/worker-start.ts policy': 'a page has one policy of a name',
  'src/page/leader/worker-start.ts scripts': BY_OBJECT,
  'src/shared/calls/http/body.ts contents': BY_OBJECT,
  'src/shared/calls/http/body.ts received': BY_OBJECT,
  'src/shared/calls/http/body.ts acceptsStreams': 'a fact about the engine, tested once',
  'src/page/storage/objects-client.ts sharedByConnection': BY_OBJECT,
  'src/shared/calls/io/async-frame.ts current': `${REALM}: the frame of the code that runs`,
  'src/shared/calls/io/async-frame.ts isFollowing': `${REALM}: whether its promises are followed`,
  'src/shared/calls/io/current-context.ts tasks': `${REALM}: whose task is running`,
  'src/shared/calls/membrane/imported.ts finalizers': COLLECTED,
  'src/shared/calls/membrane/payload.ts lastNumber':
    'numbers must differ in all connections of a realm',
  'src/shared/calls/membrane/signal.ts received': BY_OBJECT,
  'packages/testing/playwright/test-objects.ts objectsByContext': BY_OBJECT,
  'packages/adapters/observed/observed-live.ts lives':
    'facts about each handle, which it does not keep alive: components share live values',
  'src/shared/values/blob-bytes.ts thread': 'a thread of Node, started by the first Blob',
  'src/shared/values/byte-reader.ts cache':
    'short strings decoded before; holds no state but speed',
  'src/shared/values/encode.ts idle':
    'an encoder kept for the next call, so that its buffer is reused',
  'src/shared/values/object-kind.ts kinds': BY_OBJECT,
  'src/shared/calls/membrane/callable.ts disposals': BY_OBJECT,
  'src/shared/calls/sockets/web-socket.ts hibernateSocket': FRIEND,
  'src/shared/calls/sockets/web-socket.ts socketParts': FRIEND,
  'src/shared/calls/stubs/fetcher.ts fetches': BY_OBJECT,
  'src/shared/calls/stubs/known-stubs.ts addresses': BY_OBJECT,
  'src/shared/calls/stubs/known-stubs.ts callers': BY_OBJECT,
  'src/shared/calls/stubs/known-stubs.ts classNames': BY_OBJECT,
  'src/shared/calls/stubs/known-stubs.ts unsendableReasons': BY_OBJECT,
  'src/shared/calls/stubs/known-stubs.ts liveCallers': BY_OBJECT,
  'src/shared/calls/stubs/known-stubs.ts members': BY_OBJECT,
  'src/shared/calls/stubs/known-stubs.ts rpcStubs': BY_OBJECT,
  'src/shared/calls/stubs/loopback.ts classes': BY_OBJECT,
  'src/shared/contract/constructed-state.ts expected':
    'the constructor of a base class is called by code of the app, which passes it nothing else',
  'packages/testing/simulate/globals.ts runs': `${REALM}: how many runs see their own globals`,
  'packages/testing/simulate/globals.ts uninstall': `${REALM}: the globals that runs replace together`,
  'packages/testing/simulate/scope.ts scope': `${REALM}: whose code is running`,
  'packages/workers/vitest/host/cloudflare-test.ts fetchMock': `${REALM}: cloudflare:test is a module`,
  'packages/workers/vitest/host/cloudflare-test.ts host': `${REALM}: cloudflare:test is a module`,
  'packages/workers/vitest/host/handler-arguments.ts decisionsOf': BY_OBJECT,
  'packages/workers/vitest/host/handler-arguments.ts works': BY_OBJECT,
  'worker/start/entries/object-tools.ts hostsByKey': BY_OBJECT,
  'worker/start/entries/object-tools.ts running': `${REALM}: reset() names no host`,
  'worker/realm/globals/body-lengths.ts bodyArguments': BY_OBJECT,
  'worker/realm/globals/object-realm.ts objectRealm': `${REALM}: the globals its hosts replace together`,
  'worker/realm/modules/whole-realm.ts wholeRealm': `${REALM}: the globals its hosts replace together`,
  'worker/realm/globals/realm.ts storageRealm': `${REALM}: the globals its hosts replace together`,
  'worker/realm/library/provided.ts namesReadTooEarly':
    'modules read env while they load, before a host starts',
  'worker/realm/library/rpc-stub.ts RpcStub':
    'a class that is constructed by a function; it has no state',
  'worker/realm/library/provided.ts latest':
    'modules read env while they load, before a host starts',
  'worker/realm/library/running-object.ts overrides': `${REALM}: \`cloudflare:workers\` is a module`,
  'worker/realm/library/running-hosts.ts running': `${REALM}: \`cloudflare:workers\` is a module`,
  'worker/engine/log/committed-pages.ts run': SCRATCH,
  'worker/engine/log/segment.ts ZEROS': 'a constant: zeros to write',
  'worker/engine/log/delta.ts table': SCRATCH,
  'worker/engine/log/moved-pages.ts buffers': SCRATCH,
  'worker/engine/log/page-delta.ts scripts': SCRATCH,
  'worker/engine/log/record.ts headerBytes': SCRATCH,
  'worker/engine/log/record.ts headerDoubles': SCRATCH,
  'worker/engine/log/record.ts headerWords': SCRATCH,
  'worker/engine/log/restore.ts writer': SCRATCH,
  'worker/engine/log/page-store.ts wholePage': SCRATCH,
  'worker/engine/log/past-state.ts wholePage': SCRATCH,
  'worker/engine/log/record.ts ZERO_WORDS': 'a constant: a page of zeros',
  'worker/engine/log/transaction-pages.ts before': SCRATCH,
  'worker/engine/log/transaction-pages.ts changedPage': SCRATCH,
  'worker/engine/log/transaction-pages.ts writer': SCRATCH,
  'worker/engine/file/file.ts windowBytes': SCRATCH,
  'worker/engine/file/file.ts windowOwner': SCRATCH,
  'worker/realm/modules/diagnostics-channel.ts channels': 'channels are shared by name, as in Node',
  'worker/engine/sql/cursor.ts DROPPED': COLLECTED,
  'worker/engine/sql/changesets.ts Changesets.#ofModule': BY_OBJECT,
  'worker/engine/sql/guard.ts Guard.#ofModule': BY_OBJECT,
  'worker/engine/sql/regulator.ts Regulator.#ofModule': BY_OBJECT,
  'worker/engine/sql/row-watch.ts RowWatch.#ofModule': BY_OBJECT,
  'worker/engine/sql/sql-error.ts namesOfModule': BY_OBJECT,
  'worker/engine/storage/load-late.ts lateCode': 'a realm loads the late parts once',
  'worker/engine/vfs/sqlite-module.ts loading': 'a realm compiles SQLite once',
};

const PUBLIC_TYPE = 'the public interface, and the class that implements it';
const FRAMEWORK = 'the same hook in the entry of each framework';
const PLATFORM = 'the same export of the entry of each platform';

/** Names that two modules of a product declare and export. */
export const SHARED_NAMES: Readonly<Record<string, string>> = {
  settled: 'an entry of the package, and a wait of the simulator, which no app sees',
  AlarmInvocationInfo: PUBLIC_TYPE,
  RpcPromise: 'the class of rpc-classes.ts, and the promise type of calls',
  ServiceStub: PUBLIC_TYPE,
  Comment: PUBLIC_TYPE,
  Doctype: PUBLIC_TYPE,
  DocumentEnd: PUBLIC_TYPE,
  DurableObjectFacets: PUBLIC_TYPE,
  DurableObjectId: PUBLIC_TYPE,
  DurableObjectNamespace: PUBLIC_TYPE,
  DurableObjectState: PUBLIC_TYPE,
  ExecutionContext: PUBLIC_TYPE,
  DurableObjectStorage: PUBLIC_TYPE,
  Element: PUBLIC_TYPE,
  EndTag: PUBLIC_TYPE,
  HTMLRewriter: PUBLIC_TYPE,
  Text: PUBLIC_TYPE,
  RemoteStorage: PUBLIC_TYPE,
  RpcStub: PUBLIC_TYPE,
  SqlStorage: PUBLIC_TYPE,
  SyncKvStorage: PUBLIC_TYPE,
  createObjects: PLATFORM,
  evictDurableObject: PLATFORM,
  listDurableObjectIds: PLATFORM,
  migrate: 'for a storage, and under the name of Drizzle’s own for a database of Drizzle',
  reset: PLATFORM,
  runDurableObjectAlarm: PLATFORM,
  runInDurableObject: PLATFORM,
  serve: PLATFORM,
  useConnectionStatus: FRAMEWORK,
  useLive: FRAMEWORK,
  useUndo: FRAMEWORK,
};

/** Tests without a rule: `file`, a folder, or `file title` as far as it goes, and why. */
export const TESTS_WITHOUT_RULE: Readonly<Record<string, string>> = {
  'e2e/package/rooms.test.ts': 'the borders between the rooms of the repository',
  'e2e/suite': 'tests of the tests',
  'e2e/workerd/conformance': 'tests of the tests',
  'e2e/workerd/fuzz': 'tests of the tests',
  'e2e/browsers/browser.test.ts': 'tests of the tests',
  'e2e/break/hostile/attack.test.ts': 'tests of the tests',
  'e2e/break/mutants': 'tests of the tests',
  'e2e/specs/demo.spec.ts': 'the panels of the demo are not a promise of the package',
  'worker/engine/log/pages.test.ts': 'a building block: its users have the rules',
  'worker/engine/log/slab.test.ts': 'a building block: its users have the rules',
  'worker/engine/sql/database.test.ts trusted statements': 'a building block: no user can reach it',
  'worker/engine/sql/tokens.test.ts': 'a building block: its users have the rules',
  'worker/engine/vfs/wasm-memory.test.ts': 'a building block: its users have the rules',
};

/**
 * Regular expressions of the product that take more than linear time, `file /source/flags`, and the bound of their
 * inputs.
 */
export const SLOW_EXPRESSIONS: Readonly<Record<string, string>> = {
  'packages/testing/playwright/call-site.ts /\\(?((?:file:\\/\\/|\\/|[A-Za-z]:\\\\)[^()]*):(\\d+):(\\d+)\\)?$/':
    'a line of a stack in the test’s own process: the path of one of its files',
};

/** Regular expressions that are made of a text, `file code`, and whose text that is. */
export const MADE_EXPRESSIONS: Readonly<Record<string, string>> = {
  "packages/inspector/sql-completion.ts new RegExp(`\\\\b(\\\\w+)\"?\\\\s+(?:AS\\\\s+)?${owner}\\\\b`, 'giu')":
    'the owner is a word of letters and digits; each match begins at the start of a word',
  'packages/workers/dev/asset-rules.ts new RegExp(`^${source}${escapeRegExp(pattern.slice(end))}$`)':
    'a rule of the project’s own folder, matched with paths that its developer’s browser asks for',
  'packages/testing/playwright/origin-objects.ts new RegExp(`[?&]${FRONT_PARAMETER}(?:&|$)`)':
    'a constant',
  'src/shared/values/decode.ts new RegExp(source, flags)':
    'a stored value: it is made and never run here, and its cost is bounded (VAL8)',
  "packages/vite/module-rules.ts new RegExp(`^${source}${')'.repeat(depth)}$`, 's')":
    'the project’s own configuration, matched with names of its own files',
  'worker/engine/sql/tokens.ts new RegExp(TOKEN)':
    'a copy of a literal, with a position of its own',
};

/** Rules that are tested before a release only, and why. */
export const RELEASE_ONLY: Readonly<Record<string, string>> = {
  APP7: 'the examples that follow a server; follow-guide.spec.ts runs an app like them',
  DEMO30: 'links with data; DEMO32 refuses damaged ones, and unit tests read and write them',
  DOC6: "the search of the guide, which is VitePress's own",
  INSP12: 'views of the inspector, on functions that unit tests of diff, revert and merge show',
  INSP6: 'the list of the objects of classes, which CONN1 shows without the inspector',
  PKG21: 'a browser extension, whose pages start workers as other pages do',
  SIMU23: 'the playground on a simulated run, whose parts are tested without it',
};
