// The libraries' classes, hosted.

import { serve } from '../../worker/entries/objects.ts';
import { Bases, Library, Party } from './classes.ts';

serve({ Library, Bases, Party }, { scriptName: 'libraries' });
