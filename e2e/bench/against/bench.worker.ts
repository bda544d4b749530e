// The worker of both versions: the class that is measured.

import { serve } from '../../../worker/start/entries/objects.ts';
import { Bench } from './bench-class.ts';

serve({ Bench });
