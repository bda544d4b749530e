// A chat room as a Durable Object: messages in SQL, the topic under a key, an alarm that deletes old
// messages, methods for stubs, `fetch` and WebSockets for HTTP clients.
//
// e2e/specs/differential.spec.ts runs this file in a page and on workerd.

import { DurableObject } from 'cloudflare:workers';

export interface Message {
  readonly id: number;
  readonly author: string;
  readonly text: string;
  readonly at: number;
}

interface Env {
  /** How long a room keeps its messages, in milliseconds. */
  readonly KEEP_MS: number;
}

export class Room extends DurableObject<Env> {
  constructor(ctx: ConstructorParameters<typeof DurableObject<Env>>[0], env: Env) {
    super(ctx, env);
    this.ctx.storage.sql.exec(
      `CREATE TABLE IF NOT EXISTS message (
         id INTEGER PRIMARY KEY AUTOINCREMENT, author TEXT NOT NULL, text TEXT NOT NULL,
         at INTEGER NOT NULL)`,
    );
  }

  /** Stores the message, sends it to all WebSockets, and returns it. */
  async post(author: string, text: string): Promise<Message> {
    if (text.trim() === '') throw new RangeError('A message must contain text.');
    const { sql } = this.ctx.storage;
    const message = sql
      .exec(
        'INSERT INTO message (author, text, at) VALUES (?, ?, ?) RETURNING *',
        author,
        text,
        Date.now(),
      )
      .one() as unknown as Message;
    for (const socket of this.ctx.getWebSockets()) socket.send(JSON.stringify(message));
    if ((await this.ctx.storage.getAlarm()) === null) {
      await this.ctx.storage.setAlarm(message.at + (await this.#keepMs()));
    }
    return message;
  }

  /** The newest messages, oldest first. */
  messages(limit = 50): Message[] {
    return this.ctx.storage.sql
      .exec('SELECT * FROM (SELECT * FROM message ORDER BY id DESC LIMIT ?) ORDER BY id', limit)
      .toArray() as unknown as Message[];
  }

  async topic(): Promise<string> {
    return (await this.ctx.storage.get<string>('topic')) ?? `Room ${this.ctx.id.name}`;
  }

  async setTopic(topic: string): Promise<void> {
    await this.ctx.storage.put('topic', topic);
  }

  /** Changes how long messages are kept. */
  async keep(durationMs: number): Promise<void> {
    await this.ctx.storage.put('keep', durationMs);
  }

  /** When the alarm deletes the oldest messages; null if no alarm is set. */
  async forgetsAt(): Promise<number | null> {
    return this.ctx.storage.getAlarm();
  }

  /** Deletes all messages of an author, unless no message would be left. */
  async takeBack(author: string): Promise<number> {
    return this.ctx.storage.transaction(async (txn) => {
      const { sql } = this.ctx.storage;
      const { rowsWritten } = sql.exec('DELETE FROM message WHERE author = ?', author);
      await txn.put('taken back', { author, rowsWritten });
      if (this.messages().length === 0) throw new Error('No message would be left.');
      return rowsWritten;
    });
  }

  override async alarm(): Promise<void> {
    const keepMs = await this.#keepMs();
    const { sql } = this.ctx.storage;
    sql.exec('DELETE FROM message WHERE at <= ?', Date.now() - keepMs);
    const { at } = sql.exec('SELECT min(at) AS at FROM message').one() as { at: number | null };
    if (at !== null) await this.ctx.storage.setAlarm(at + keepMs);
  }

  override async fetch(request: Request): Promise<Response> {
    if (request.headers.get('Upgrade') === 'websocket') {
      const { 0: client, 1: server } = new WebSocketPair();
      const author = new URL(request.url).searchParams.get('author') ?? 'somebody';
      this.ctx.acceptWebSocket(server, [author]);
      server.serializeAttachment({ author });
      return new Response(null, { status: 101, webSocket: client });
    }
    if (request.method === 'POST') {
      const { author, text } = (await request.json()) as { author: string; text: string };
      return Response.json(await this.post(author, text), { status: 201 });
    }
    return Response.json({ topic: await this.topic(), messages: this.messages() });
  }

  override async webSocketMessage(socket: WebSocket, text: string): Promise<void> {
    const { author } = socket.deserializeAttachment() as { author: string };
    await this.post(author, text);
  }

  async #keepMs(): Promise<number> {
    return (await this.ctx.storage.get<number>('keep')) ?? this.env.KEEP_MS;
  }
}
