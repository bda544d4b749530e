// The worker of both versions: the class that is measured.

import { serve } from '../../../worker/start/entries/objects.ts';
import { Measured } from './measured-class.ts';

serve({ Measured });
