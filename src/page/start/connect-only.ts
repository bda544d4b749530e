// The page's entry without `openStorage`, for bundlers that emit every worker they come across, used or not (Vite 7).

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
