// `ctx-storage/react`: hooks over live values and the state of a connection. React 18 or later.
//
// It has no code of the page's entry, and uses what that entry's objects offer.

export { type ConnectionSnapshot, useConnectionStatus } from './use-connection-status.ts';
export { useLive, useLiveValue } from './use-live.ts';
