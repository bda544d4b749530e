// What the room sends to each socket, as JSON.

export type Message = {
  /** Ascends within a room. */
  id: number;
  author: string;
  text: string;
  /** When it was said, in milliseconds. */
  at: number;
};
