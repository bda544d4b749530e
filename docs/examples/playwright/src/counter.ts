// A counter that forgets after a minute, and a room that keeps messages in a table.

import { DurableObject } from 'ctx-storage/worker';

export class Counter extends DurableObject {
  async add(by: number): Promise<number> {
    const count = ((await this.ctx.storage.get<number>('count')) ?? 0) + by;
    await this.ctx.storage.put('count', count);
    if (by > 0) await this.ctx.storage.setAlarm(Date.now() + 60_000);
    return count;
  }

  async alarm(): Promise<void> {
    await this.ctx.storage.deleteAll();
  }
}

export class Room extends DurableObject {
  constructor(...parameters: ConstructorParameters<typeof DurableObject>) {
    super(...parameters);
    this.ctx.storage.sql.exec('CREATE TABLE IF NOT EXISTS messages (id INTEGER PRIMARY KEY, text)');
  }

  say(text: string): void {
    this.ctx.storage.sql.exec('INSERT INTO messages (text) VALUES (?)', text);
  }

  messages(): string[] {
    const rows = this.ctx.storage.sql.exec('SELECT text FROM messages ORDER BY id').toArray();
    return rows.map(({ text }) => String(text));
  }
}
