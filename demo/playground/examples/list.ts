// A shared list: its storage on the right is read live. Open this page in a second tab and change it there.
import { DurableObject } from 'cloudflare:workers';

export class List extends DurableObject {
  async add(item: string) {
    await this.ctx.storage.put(`item/${Date.now()}`, { item, isDone: false });
  }

  async check(item: string) {
    const found = await this.ctx.storage.list<{ item: string }>({ prefix: 'item/' });
    for (const [key, value] of found) {
      if (value.item === item) await this.ctx.storage.put(key, { item, isDone: true });
    }
  }

  async clear() {
    await this.ctx.storage.deleteAll();
  }
}
