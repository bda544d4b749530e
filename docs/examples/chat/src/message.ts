// What the room sends to each socket, as JSON.

export type Message = {
  /** Ascends within a room. */
  id: number;
  author: string;
  text: string;
  /** When it was said, in milliseconds. */
  at: number;
};

/** What a page calls of a room that it follows. */
export interface FollowedRoom {
  say(author: string, text: string): void;
  messages(): Message[];
}
