// Uses partyserver's base class, whose connections outlive the object's memory.

import { type Connection, Server } from 'partyserver';

export class Party extends Server {
  static override options = { hibernate: true };

  override async onConnect(connection: Connection): Promise<void> {
    connection.setState({ messages: 0 });
    connection.send(`welcome to ${this.name}`);
    this.broadcast('somebody came', [connection.id]);
  }

  override onMessage(connection: Connection<{ messages: number }>, message: string): void {
    const messages = (connection.state?.messages ?? 0) + 1;
    connection.setState({ messages });
    this.broadcast(`${messages}: ${message}`);
  }

  override onClose(_connection: Connection, code: number): void {
    this.broadcast(`left with ${code}`);
  }

  override onRequest(): Response {
    return Response.json({ name: this.name, here: [...this.getConnections()].length });
  }
}
