// A chat room: messages in SQL, and a WebSocket for everybody who listens.
import { DurableObject } from 'cloudflare:workers';

export class Room extends DurableObject {
  constructor(ctx: DurableObjectState, env: object) {
    super(ctx, env);
    ctx.storage.sql.exec(
      'CREATE TABLE IF NOT EXISTS message (id INTEGER PRIMARY KEY, author TEXT, text TEXT)',
    );
  }

  post(author: string, text: string) {
    const message = this.ctx.storage.sql
      .exec('INSERT INTO message (author, text) VALUES (?, ?) RETURNING *', author, text)
      .one();
    for (const socket of this.ctx.getWebSockets()) socket.send(JSON.stringify(message));
    return message;
  }

  messages(limit = 20) {
    return this.ctx.storage.sql
      .exec('SELECT * FROM message ORDER BY id DESC LIMIT ?', limit)
      .toArray();
  }

  // Connect a socket under "Request", send a text, and every socket hears it.
  override async fetch(): Promise<Response> {
    const { 0: client, 1: server } = new WebSocketPair();
    this.ctx.acceptWebSocket(server);
    return new Response(null, { status: 101, webSocket: client });
  }

  override webSocketMessage(_socket: WebSocket, text: string) {
    this.post('socket', text);
  }
}
