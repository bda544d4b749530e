// The class of which there are many objects, and which tells how many files their worker has open.

import { DurableObject, serve } from '../../../worker/start/entries/objects.ts';
import { countHandles, type HandleCount } from '../../specs/pages/handle-count.ts';

const handles = countHandles();

export interface Classes {
  Book: Book;
}

export class Book extends DurableObject {
  add(): number {
    const count = this.count() + 1;
    this.ctx.storage.kv.put('count', count);
    return count;
  }

  count(): number {
    return this.ctx.storage.kv.get<number>('count') ?? 0;
  }

  handles(): HandleCount {
    return { ...handles };
  }
}

serve({ Book });
