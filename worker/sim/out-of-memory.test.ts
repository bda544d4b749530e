// One request of seven is refused; out-of-memory.long.test.ts refuses each, which takes most of a minute.

import { describeRefusals } from './out-of-memory.ts';

describeRefusals({ first: 3, step: 7 });
