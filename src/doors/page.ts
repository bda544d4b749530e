// Exports the names of `src/page` that packages may import: a page's connections, its handles on storage, and their
// status.

export { browserEnvironment } from '../page/leader/browser.ts';
export type { PageEnvironment } from '../page/leader/environment.ts';
export { LeaderFinder } from '../page/leader/leader-finder.ts';
export { Persistence, Status } from '../page/leader/status.ts';
export { withClient } from '../page/start/client-code.ts';
export { type ConnectOptions, connect } from '../page/start/connect.ts';
export type { RemoteObjects } from '../page/storage/connect.ts';
export { ObjectsClient } from '../page/storage/objects-client.ts';
export { forkBranch, openKeptBranch } from '../page/storage/remote-branches.ts';
export { RemoteStorage } from '../page/storage/remote-storage.ts';
export { Session } from '../page/storage/session.ts';
export type { SourceObjects } from '../page/storage/source-client.ts';
