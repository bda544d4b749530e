// What the room sends to each socket, as JSON.

export type Message = {
  /** Ascends within a room. */
  id: number;
  author: string;
  text: string;
  /** When it was said, in milliseconds. */
  at: number;
};

/**
 * Names who enters a room. A room believes it, so only the room's caller may set it: the server, once it knows who has
 * signed in, or the page whose own browser has the room. The name is
 * in the form of `encodeURIComponent`.
 */
export const AUTHOR_HEADER = 'X-Author';

/** What a page calls of a room that it follows. */
export interface FollowedRoom {
  say(text: string): void;
  messages(): Message[];
}
