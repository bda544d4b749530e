// A worker whose questions for free space are noted: whether one was asked in the task of a write.

import { DurableObject, serve } from '../../../worker/start/entries/objects.ts';
import { noteQuestions } from './noted-questions.ts';

noteQuestions();

export class Room extends DurableObject<object> {
  add(number: number): number {
    const sum = (this.ctx.storage.kv.get<number>('sum') ?? 0) + number;
    this.ctx.storage.kv.put('sum', sum);
    return sum;
  }
}

serve({ Room });
