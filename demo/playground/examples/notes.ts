// Notes with full-text search: SQLite's FTS5, kept up to date by triggers.
import { DurableObject } from 'cloudflare:workers';

export class Notes extends DurableObject {
  constructor(ctx: DurableObjectState, env: object) {
    super(ctx, env);
    ctx.storage.sql.exec(`
      CREATE TABLE IF NOT EXISTS note (id INTEGER PRIMARY KEY, title TEXT, body TEXT);
      CREATE VIRTUAL TABLE IF NOT EXISTS note_search
        USING fts5(title, body, content=note, content_rowid=id);
      CREATE TRIGGER IF NOT EXISTS note_added AFTER INSERT ON note BEGIN
        INSERT INTO note_search (rowid, title, body) VALUES (new.id, new.title, new.body);
      END`);
  }

  add(title: string, body: string) {
    return this.ctx.storage.sql
      .exec('INSERT INTO note (title, body) VALUES (?, ?) RETURNING id', title, body)
      .one();
  }

  search(words: string) {
    return this.ctx.storage.sql
      .exec(
        `SELECT title, snippet(note_search, 1, '[', ']', '…', 8) AS found
         FROM note_search WHERE note_search MATCH ? ORDER BY rank`,
        words,
      )
      .toArray();
  }
}
