// The page's entry without `openStorage`, for bundlers that emit every worker they come across, used or not (Vite 7).

export type { RemoteObjects } from './client/connect.ts';
export { type ConnectOptions, connect } from './connect.ts';
export { isStorageError, type StorageError, type StorageErrorCode } from './contract/errors.ts';
export { RpcTarget } from './contract/rpc-target.ts';
export { live } from './live/live-stub.ts';
export { withSignal } from './stubs/with-signal.ts';
