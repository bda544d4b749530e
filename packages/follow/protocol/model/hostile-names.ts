// Which connections and clients of the model are those of the hostile follower, and how large its messages are.
//
// The sizes are such that a few messages reach a bound of the server.

/** Its connections have numbers from this one on; those of the devices are smaller. */
export const FIRST_CONNECTION = 100;
/** The names of its clients. */
export const NAMES = ['X', 'Y'] as const;
/** Each message with content that it is sent has this size: two of them fill a connection. */
export const CONTENT_BYTES = 600 * 1024;
/** Each of its calls has this size, so that one may wait, and two may not. */
export const CALL_BYTES = 1.25 * 2 ** 20;

/** Returns the index of a hostile connection; null for that of a device. */
export function hostileIndex(connection: number): number | null {
  return connection < FIRST_CONNECTION ? null : connection - FIRST_CONNECTION;
}

export function isHostileClient(client: string): boolean {
  return NAMES.some((name) => name === client);
}

/** True if the identity of the connection is not that of the client. */
export function isClientOfAnother(connection: number, client: string): boolean {
  return (hostileIndex(connection) !== null) !== isHostileClient(client);
}
