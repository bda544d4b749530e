// Serves the class that is measured, from the worker of its objects.

import { serve } from '../../worker/start/entries/objects.ts';
import { Bench } from './ours-class.ts';

serve({ Bench });
