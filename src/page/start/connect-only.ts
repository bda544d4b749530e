// The entry `ctx-storage/connect`, without `openStorage`. Some bundlers (Vite 7) emit every worker that they find in an
// entry, even if it is unused.

export { withSignal } from '../../shared/calls/stubs/with-signal.ts';
export {
  isStorageError,
  type StorageError,
  type StorageErrorCode,
} from '../../shared/contract/errors.ts';
export { RpcTarget } from '../../shared/contract/rpc-target.ts';
export { live } from '../../shared/live/live-stub.ts';
export type { RemoteObjects } from '../storage/connect.ts';
export { type ConnectOptions, connect } from './connect.ts';
