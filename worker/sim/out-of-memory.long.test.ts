// Each request is refused.

import { describeRefusals } from './out-of-memory.ts';

describeRefusals({ first: 0, step: 1 });
