// A chat room: its sockets are the people in it, its table is what they have said.
//
// The same class runs in a worker of the page and on workerd, and as a copy that follows the one on the server.
//
// No message names its author: the author of a socket's messages is whom the room's caller has let in, and that of a
// follower's message is `ctx.caller`.

import { DurableObject } from 'cloudflare:workers';
import type { FollowedState } from 'ctx-storage/followable';
import { AUTHOR_HEADER, type Message } from './message.ts';

const HISTORY_LENGTH_MAX = 100;
const TEXT_LENGTH_MAX = 1000;
const MESSAGE_TOO_BIG = 1009;
const TOO_BIG = `A message has at most ${TEXT_LENGTH_MAX} characters.`;

export class Room extends DurableObject {
  declare readonly ctx: FollowedState<DurableObjectState<object>>;

  constructor(ctx: DurableObjectState, env: object) {
    super(ctx, env);
    ctx.storage.sql.exec(
      `CREATE TABLE IF NOT EXISTS message(
         id INTEGER PRIMARY KEY, author TEXT NOT NULL, text TEXT NOT NULL, at INTEGER NOT NULL)`,
    );
  }

  /** Lets somebody in, and sends what was said after the message that they have seen last. */
  override fetch(request: Request): Response {
    const author = request.headers.get(AUTHOR_HEADER);
    if (author === null) return new Response('Sign in first.', { status: 401 });
    if (request.headers.get('Upgrade') !== 'websocket') {
      return new Response('A room is entered by a WebSocket.', { status: 426 });
    }
    const { searchParams } = new URL(request.url);
    const { 0: client, 1: socket } = new WebSocketPair();
    // The socket stays open while the object is out of memory; its next message wakes the object.
    this.ctx.acceptWebSocket(socket);
    socket.serializeAttachment(decodeURIComponent(author));
    for (const message of this.messages(Number(searchParams.get('after')))) {
      socket.send(JSON.stringify(message));
    }
    return new Response(null, { status: 101, webSocket: client });
  }

  override webSocketMessage(socket: WebSocket, text: string | ArrayBuffer): void {
    if (typeof text !== 'string' || text.length > TEXT_LENGTH_MAX) {
      socket.close(MESSAGE_TOO_BIG, TOO_BIG);
      return;
    }
    this.#tell(socket.deserializeAttachment(), text);
  }

  /** Says something as the person whose copy follows the room. */
  say(text: string): void {
    const author = this.ctx.caller;
    if (author === undefined)
      throw new Error('Only somebody who follows the room can say something.');
    // A page can send any value, whatever the types say.
    if (typeof text !== 'string') throw new TypeError('Send a text.');
    if (text.length > TEXT_LENGTH_MAX) throw new RangeError(TOO_BIG);
    this.#tell(author, text);
  }

  /** Stores what somebody says, and sends it to all. Nothing leaves the object before it is on disk. */
  #tell(author: string, text: string): void {
    const message = this.ctx.storage.sql
      .exec<Message>(
        'INSERT INTO message(author, text, at) VALUES (?, ?, ?) RETURNING *',
        author,
        text,
        Date.now(),
      )
      .one();
    for (const other of this.ctx.getWebSockets()) other.send(JSON.stringify(message));
  }

  /** The newest messages after this one, the oldest first. */
  messages(id = 0): Message[] {
    return this.ctx.storage.sql
      .exec<Message>(
        `SELECT * FROM (SELECT * FROM message WHERE id > ? ORDER BY id DESC LIMIT ?) ORDER BY id`,
        id,
        HISTORY_LENGTH_MAX,
      )
      .toArray();
  }
}
