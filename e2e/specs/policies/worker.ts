// The worker of the app that runs under policies.

import { DurableObject, serve } from '../../../worker/start/entries/objects.ts';

class Greeter extends DurableObject {
  async greet(): Promise<string> {
    await this.ctx.storage.put('said', 'hello');
    return String(await this.ctx.storage.get('said'));
  }
}

export type Classes = { Greeter: Greeter };

serve({ Greeter });
