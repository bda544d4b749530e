// Cloudflare's Actors: persisted properties, migrations, several alarms, stored names.

import { Actor, Persist } from '@cloudflare/actors';

export class Actors extends Actor<Cloudflare.Env> {
  @Persist
  count = 0;

  @Persist
  settings: { theme: string; tags: string[] } = { theme: 'light', tags: [] };

  readonly #fired: unknown[] = [];

  onDue(payload: unknown): void {
    this.#fired.push(payload);
  }

  async run(): Promise<unknown> {
    this.count += 2;
    this.settings.theme = 'dark';
    this.settings.tags.push('a');
    const rows = this.ctx.storage.sql
      .exec('SELECT * FROM _actor_persist ORDER BY property')
      .toArray();
    this.storage.migrations = [
      {
        idMonotonicInc: 1,
        description: 'first',
        sql: 'CREATE TABLE things (id INTEGER PRIMARY KEY)',
      },
      { idMonotonicInc: 2, description: 'second', sql: 'ALTER TABLE things ADD COLUMN name TEXT' },
    ];
    const migrated = await this.storage.runMigrations();
    const columns = this.sql`PRAGMA table_info(things)`;
    // The library counts whole seconds, and sets no alarm for the second that has begun.
    await this.alarms.schedule(1, 'onDue', ['first']);
    await this.alarms.schedule(1, 'onDue', ['second']);
    const scheduled = await this.alarms.getSchedules();
    while (this.#fired.length < 2) await new Promise((resolve) => setTimeout(resolve, 20));
    return {
      count: this.count,
      // Copy the settings, because their proxies are for the library's own use.
      settings: JSON.parse(JSON.stringify(this.settings)) as unknown,
      persisted: rows.map((row) => Object.entries(row)),
      migrated: migrated?.rowsWritten,
      columns,
      scheduled: scheduled.map(({ callback, payload }) => ({ callback, payload })),
      fired: this.#fired,
      left: (await this.alarms.getSchedules()).length,
    };
  }
}
