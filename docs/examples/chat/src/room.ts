// A chat room: its sockets are the people in it, its table is what they have said.
//
// The same class runs in a worker of the page and on workerd, and as a copy that follows the one on the server.

import { DurableObject } from 'cloudflare:workers';
import type { Message } from './message.ts';

const HISTORY_LENGTH_MAX = 100;
const TEXT_LENGTH_MAX = 1000;
const AUTHOR_LENGTH_MAX = 100;
const MESSAGE_TOO_BIG = 1009;
const TOO_BIG = `A message has at most ${TEXT_LENGTH_MAX} characters.`;
const NAME_TOO_BIG = `A name has at most ${AUTHOR_LENGTH_MAX} characters.`;

export class Room extends DurableObject {
  constructor(ctx: DurableObjectState, env: object) {
    super(ctx, env);
    ctx.storage.sql.exec(
      `CREATE TABLE IF NOT EXISTS message(
         id INTEGER PRIMARY KEY, author TEXT NOT NULL, text TEXT NOT NULL, at INTEGER NOT NULL)`,
    );
  }

  /** Lets somebody in, and sends what was said after the message that they have seen last. */
  override fetch(request: Request): Response {
    if (request.headers.get('Upgrade') !== 'websocket') {
      return new Response('A room is entered by a WebSocket.', { status: 426 });
    }
    const { searchParams } = new URL(request.url);
    const { 0: client, 1: socket } = new WebSocketPair();
    // The socket stays open while the object is out of memory; its next message wakes the object.
    this.ctx.acceptWebSocket(socket);
    const author = searchParams.get('author') ?? 'Somebody';
    socket.serializeAttachment(author.slice(0, AUTHOR_LENGTH_MAX));
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
    this.say(socket.deserializeAttachment(), text);
  }

  /** Stores what somebody says, and sends it to all. Nothing leaves the object before it is on disk. */
  say(author: string, text: string): void {
    // A page can send any value, whatever the types say.
    if (typeof author !== 'string' || typeof text !== 'string') throw new TypeError('Send texts.');
    if (author.length > AUTHOR_LENGTH_MAX) throw new RangeError(NAME_TOO_BIG);
    if (text.length > TEXT_LENGTH_MAX) throw new RangeError(TOO_BIG);
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
