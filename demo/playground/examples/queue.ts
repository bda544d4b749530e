// A queue that an alarm works off, also when nobody calls. "To the next alarm" does not wait for it.
import { DurableObject } from 'cloudflare:workers';

export class Queue extends DurableObject {
  constructor(ctx: DurableObjectState, env: object) {
    super(ctx, env);
    ctx.storage.sql.exec(
      `CREATE TABLE IF NOT EXISTS job
         (id INTEGER PRIMARY KEY, task TEXT, state TEXT DEFAULT 'waiting')`,
    );
  }

  async push(task: string) {
    this.ctx.storage.sql.exec('INSERT INTO job (task) VALUES (?)', task);
    await this.ctx.storage.setAlarm(Date.now() + 20_000);
  }

  jobs() {
    return this.ctx.storage.sql.exec('SELECT * FROM job ORDER BY id').toArray();
  }

  override async alarm() {
    const { sql } = this.ctx.storage;
    const [job] = sql.exec("SELECT * FROM job WHERE state = 'waiting' LIMIT 1").toArray();
    if (job === undefined) return;
    sql.exec("UPDATE job SET state = 'done' WHERE id = ?", job.id);
    console.log('Done:', job.task);
    await this.ctx.storage.setAlarm(Date.now() + 20_000);
  }
}
