// Exports the messages between page and worker that packages may import: addresses, follow requests, and errors that
// cross.

export type { WireAddress } from '../shared/wire/address.ts';
export { type ControlMessage, namesOf } from '../shared/wire/control.ts';
export { fromWire, toWire, type WireError } from '../shared/wire/errors-on-wire.ts';
export type { FollowAnswers, FollowAsk, FollowOutcome } from '../shared/wire/follow-asks.ts';
export type { ClassList, ManageRequest } from '../shared/wire/protocol.ts';
