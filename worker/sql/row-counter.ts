// rowsRead and rowsWritten of one execution of a query (counted from the next change on).

import type { Pointer, Sqlite } from '../vfs/sqlite-module.ts';

export class RowCounter {
  constructor(_sqlite: Sqlite, _statement: Pointer) {}
  begin(): void {}
  stepped(): boolean {
    return false;
  }
  read(): number {
    return 0;
  }
  written(): number {
    return 0;
  }
  release(): void {}
}
