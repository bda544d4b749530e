// The worker with the class that is measured.

import { serve } from '../../worker/start/entries/objects.ts';
import { Bench } from './ours-class.ts';

serve({ Bench });
