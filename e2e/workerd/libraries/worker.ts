// The libraries' classes, hosted.

import { serve } from '../../../worker/start/entries/objects.ts';
import * as classes from './classes.ts';

serve({ ...classes }, { scriptName: 'libraries', compatibilityDate: '2026-01-30' });
