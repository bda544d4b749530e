// Exports the names of `src/shared/calls` that packages may import: the running task, stubs, sockets, and requests in
// parts.

export { bodyOfResponse } from '../shared/calls/http/body.ts';
export { isEncoded } from '../shared/calls/http/response-parts.ts';
export {
  bindToStores,
  carryIntoEvents,
  currentContext,
} from '../shared/calls/io/current-context.ts';
export { replaceGlobal, undoAll } from '../shared/calls/io/replace-global.ts';
export { PartyCaller } from '../shared/calls/membrane/caller.ts';
export { checkClose, closeEvent } from '../shared/calls/sockets/close-event.ts';
export type { SocketEnd, SocketEvent } from '../shared/calls/sockets/socket-end.ts';
export { socketParts } from '../shared/calls/sockets/web-socket.ts';
export { checkedEnv } from '../shared/calls/stubs/checked-env.ts';
export {
  type AskFollowed,
  type FollowedStub,
  followedStub,
  noteOf,
} from '../shared/calls/stubs/followed-calls.ts';
export { callEntry } from '../shared/calls/stubs/invoke.ts';
export { FREE, Party } from '../shared/calls/stubs/party.ts';
export { createStub } from '../shared/calls/stubs/stub.ts';
export { fromWireAddress, toWireAddress } from '../shared/calls/stubs/wire-address.ts';
export { withSignal } from '../shared/calls/stubs/with-signal.ts';
