// Which connections and clients of the model are those of the hostile follower, and how large its messages are.
//
// The sizes are such that a few messages reach a bound of the server.

/**
 * The hostile follower's connections have numbers from this one on; the connections of devices have smaller numbers.
 */
export const FIRST_CONNECTION = 100;
/** The names of the hostile follower's clients. */
export const NAMES = ['X', 'Y'] as const;
/** The size of each message with content to the hostile follower. Two of these messages fill a connection. */
export const CONTENT_BYTES = 600 * 1024;
/** The size of each call of the hostile follower. One such call may wait, two may not. */
export const CALL_BYTES = 1.25 * 2 ** 20;

/** Returns the index of a hostile connection; null for a connection of a device. */
export function hostileIndex(connection: number): number | null {
  return connection < FIRST_CONNECTION ? null : connection - FIRST_CONNECTION;
}

export function isHostileClient(client: string): boolean {
  return NAMES.some((name) => name === client);
}

/** True if the client belongs to another identity than the connection's. */
export function isClientOfAnother(connection: number, client: string): boolean {
  return (hostileIndex(connection) !== null) !== isHostileClient(client);
}
