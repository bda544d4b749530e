// Counts the bytes that the server has sent on a connection and that its follower has not confirmed. Sockets of workerd
// do not tell how many bytes wait in them, so the server asks for a receipt after about every 64 KiB, and a follower
// that does not read cannot know the number to send back.
//
// Invariant: the sum of `messages` and `unasked` is at least the number of bytes that wait in the socket.
//
// This is plain data: hibernation stores it in the attachment of the socket.

/**
 * The server asks for a receipt once it has sent this many bytes since the last message that asked for a receipt (our
 * choice).
 */
const RECEIPT_BYTES = 64 * 1024;
/** A follower is sent nothing more while this many bytes are unread (our choice). */
const UNREAD_BYTES_MAX = 2 ** 20;

export interface Unread {
  /** The messages that asked for a receipt, each with the bytes sent since the previous such message. */
  readonly messages: readonly { readonly receipt: number; readonly bytes: number }[];
  /** The bytes that were sent after the last message that asked for a receipt. */
  readonly unasked: number;
}

export const NOTHING_UNREAD: Unread = { messages: [], unasked: 0 };

export function unreadBytes({ messages, unasked }: Unread): number {
  return messages.reduce((sum, { bytes }) => sum + bytes, unasked);
}

/** True if nothing more may be sent before the follower has sent a receipt. */
export function isUnreadFull(unread: Unread): boolean {
  return unreadBytes(unread) >= UNREAD_BYTES_MAX;
}

/** True if a message of this size must ask for a receipt. */
export function needsReceipt({ unasked }: Unread, bytes: number): boolean {
  return unasked + bytes >= RECEIPT_BYTES;
}

/** Counts a message that was sent; `receipt` is the receipt that the message asked for. */
export function withSent(unread: Unread, bytes: number, receipt: number | null): Unread {
  const unasked = unread.unasked + bytes;
  if (receipt === null) return { ...unread, unasked };
  return { messages: [...unread.messages, { receipt, bytes: unasked }], unasked: 0 };
}

/** Counts a receipt, which confirms its message and all earlier messages. An unknown receipt confirms nothing. */
export function withReceipt(unread: Unread, receipt: number): Unread {
  const confirmed = unread.messages.findIndex((message) => message.receipt === receipt);
  return confirmed < 0 ? unread : { ...unread, messages: unread.messages.slice(confirmed + 1) };
}
