// The worker of the app's objects.

import { serve } from 'ctx-storage/worker';
import { Counter, Room } from './counter.ts';

serve({ Counter, Room });
