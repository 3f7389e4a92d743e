//! The filters of Jinja that work on lists and dicts.

use std::cmp::Ordering;

use minijinja::value::{Kwargs, ValueKind};
use minijinja::{Error, State, Value};

use super::args::{Args, required, text_or, truth};
use super::budget::{charge, charge_items, failed};
use super::filters::count;
use super::objects::{Generator, Group};
use super::operators::{arithmetic, item};
use super::tests;
use super::text::{Text, plain};
use super::values::{
    compare, equal, is_dict, items, list, pairs, sort, to_text, tuple, write_repr, write_text,
};

/// Applies a filter of lists; `None` if no such filter has this name.
pub(super) fn apply(
    state: &mut State<'_, '_>,
    name: &str,
    value: &Value,
    args: Args,
) -> Option<Result<Value, Error>> {
    Some(match name {
        "batch" => batch(value, args),
        "dictsort" => dict_sort(value, args),
        "first" => items(value).map(|items| items.into_iter().next().unwrap_or(Value::UNDEFINED)),
        "groupby" => group_by(value, args),
        "items" => dict_items(value),
        "join" => join(value, args),
        "last" => last(value),
        "list" => items(value).and_then(list),
        "map" => map(state, value, args),
        "max" => extreme(value, args, Ordering::Greater),
        "min" => extreme(value, args, Ordering::Less),
        "reject" => select(state, value, args, false, false),
        "rejectattr" => select(state, value, args, false, true),
        "reverse" => reverse(value),
        "select" => select(state, value, args, true, false),
        "selectattr" => select(state, value, args, true, true),
        "slice" => slice(value, args),
        "sort" => sorted(value, args),
        "sum" => sum(value, args),
        "unique" => unique(value, args),
        _ => return None,
    })
}

/// One step of an attribute such as `function.arguments.0`.
fn steps(attribute: &Value) -> Vec<Value> {
    match attribute.as_str() {
        Some(path) => {
            let path = plain(path);
            let step = |step: &str| step.parse::<u32>().map_or_else(|_| Value::from(step), Value::from);
            path.split('.').map(step).collect()
        }
        None => vec![attribute.clone()],
    }
}

/// The value that a filter looks at: an attribute of the item, or the item.
struct Getter {
    steps: Vec<Value>,
    default: Option<Value>,
    lower: bool,
}

impl Getter {
    fn new(attribute: Option<&Value>, default: Option<Value>, lower: bool) -> Getter {
        let attribute = attribute.filter(|attribute| !attribute.is_none());
        Getter { steps: attribute.map(steps).unwrap_or_default(), default, lower }
    }

    fn get(&self, value: &Value) -> Result<Value, Error> {
        let mut value = value.clone();
        for step in &self.steps {
            value = item(&value, step)?;
            if value.is_undefined()
                && let Some(default) = &self.default
            {
                value = default.clone();
            }
        }
        match value.as_str() {
            Some(text) if self.lower => {
                charge(text.len())?;
                Ok(Value::from(Text::new(text).plain().to_lowercase()))
            }
            _ => Ok(value),
        }
    }
}

fn batch(value: &Value, args: Args) -> Result<Value, Error> {
    let [size, fill] = args.bind("batch", ["linecount", "fill_with"])?;
    let size = count(size, "batch")?;
    let fill = fill.filter(|fill| !fill.is_none());
    let mut batches = Vec::new();
    for batch in items(value)?.chunks(size) {
        let mut batch = batch.to_vec();
        if let Some(fill) = &fill {
            charge_items(size)?;
            batch.resize(size, fill.clone());
        }
        batches.push(list(batch)?);
    }
    Ok(Generator::value(batches))
}

fn slice(value: &Value, args: Args) -> Result<Value, Error> {
    let [slices, fill] = args.bind("slice", ["slices", "fill_with"])?;
    let slices = count(slices, "slice")?;
    charge_items(slices.saturating_mul(2))?;
    let fill = fill.filter(|fill| !fill.is_none());
    let items = items(value)?;
    let (per_slice, more) = (items.len() / slices, items.len() % slices);
    let mut result = Vec::new();
    let mut at = 0;
    for number in 0..slices {
        let size = per_slice + usize::from(number < more);
        let mut slice = items[at..at + size].to_vec();
        at += size;
        slice.extend(fill.clone().filter(|_| more > 0 && number >= more));
        result.push(list(slice)?);
    }
    Ok(Generator::value(result))
}

fn dict_sort(value: &Value, args: Args) -> Result<Value, Error> {
    let [case, by, reverse] = args.bind("dictsort", ["case_sensitive", "by", "reverse"])?;
    let place = match text_or(&by, "key")?.as_str() {
        "key" => 0,
        "value" => 1,
        _ => return Err(failed("dictsort: by must be key or value")),
    };
    let getter = Getter::new(None, None, !truth(&case, false));
    let mut keyed = Vec::new();
    for (key, value) in pairs(value)? {
        let pair = [key, value];
        keyed.push((getter.get(&pair[place])?, tuple(pair.to_vec())));
    }
    sort(&mut keyed, truth(&reverse, false), |(key, _)| key)?;
    list(keyed.into_iter().map(|(_, pair)| pair).collect())
}

fn dict_items(value: &Value) -> Result<Value, Error> {
    if value.is_undefined() {
        return Ok(Generator::value(Vec::new()));
    }
    Ok(Generator::value(pairs(value)?.into_iter().map(|(key, value)| tuple(vec![key, value])).collect()))
}

fn group_by(value: &Value, args: Args) -> Result<Value, Error> {
    let [attribute, default, case] = args.bind("groupby", ["attribute", "default", "case_sensitive"])?;
    let attribute = required(attribute, "groupby")?;
    let default = default.filter(|default| !default.is_none());
    let lower = !truth(&case, false);
    let getter = Getter::new(Some(&attribute), default.clone(), lower);
    let original = Getter::new(Some(&attribute), default, false);
    let mut keyed = Vec::new();
    for value in items(value)? {
        keyed.push((getter.get(&value)?, value));
    }
    sort(&mut keyed, false, |(key, _)| key)?;
    let mut groups: Vec<(Value, Vec<Value>)> = Vec::new();
    for (key, value) in keyed {
        match groups.last_mut() {
            Some((known, values)) if equal(known, &key) => values.push(value),
            _ => groups.push((key, vec![value])),
        }
    }
    let mut result = Vec::new();
    for (_, values) in groups {
        // The key as the first item has it, not in lower case.
        let grouper = original.get(&values[0])?;
        result.push(Value::from_object(Group { grouper, list: list(values)? }));
    }
    list(result)
}

fn join(value: &Value, args: Args) -> Result<Value, Error> {
    let [separator, attribute] = args.bind("join", ["d", "attribute"])?;
    let separator = text_or(&separator, "")?;
    let getter = Getter::new(attribute.as_ref(), None, false);
    let mut joined = String::new();
    for (place, value) in items(value)?.iter().enumerate() {
        if place > 0 {
            charge(separator.len())?;
            joined.push_str(&separator);
        }
        write_text(&mut joined, &getter.get(value)?)?;
    }
    Ok(Value::from(joined))
}

fn last(value: &Value) -> Result<Value, Error> {
    if value.downcast_object_ref::<Generator>().is_some() {
        return Err(failed("last: a generator has no last item; use list before"));
    }
    Ok(items(value)?.pop().unwrap_or(Value::UNDEFINED))
}

fn map(state: &mut State<'_, '_>, value: &Value, args: Args) -> Result<Value, Error> {
    // So does Jinja, which takes `none` for an empty list here.
    if !value.is_true() {
        return Ok(Generator::value(Vec::new()));
    }
    let mut positional = args.positional;
    let mut mapped = Vec::new();
    if positional.is_empty() {
        let [attribute, default] =
            Args { positional, named: args.named }.bind("map", ["attribute", "default"])?;
        let getter = Getter::new(Some(&required(attribute, "map")?), default, false);
        for value in items(value)? {
            mapped.push(getter.get(&value)?);
        }
        return Ok(Generator::value(mapped));
    }
    let name = to_text(&positional.remove(0))?;
    for value in items(value)? {
        charge_items(1)?;
        let mut values = vec![value];
        values.extend(positional.iter().cloned());
        if !args.named.is_empty() {
            values.push(args.named.iter().cloned().collect::<Kwargs>().into());
        }
        mapped.push(state.apply_filter(&name, &values)?);
    }
    Ok(Generator::value(mapped))
}

fn select(
    state: &mut State<'_, '_>,
    value: &Value,
    args: Args,
    wanted: bool,
    by_attribute: bool,
) -> Result<Value, Error> {
    if !value.is_true() {
        return Ok(Generator::value(Vec::new()));
    }
    let mut positional = args.positional.into_iter();
    let attribute = if by_attribute { Some(required(positional.next(), "selectattr")?) } else { None };
    let getter = Getter::new(attribute.as_ref(), None, false);
    let test = positional.next().map(|name| to_text(&name)).transpose()?;
    let arguments: Vec<Value> = positional.collect();
    let mut selected = Vec::new();
    for value in items(value)? {
        charge_items(1)?;
        let found = getter.get(&value)?;
        let is = match &test {
            Some(name) => {
                let args = Args { positional: arguments.clone(), named: args.named.clone() };
                tests::holds(state, name, &found, args)?
            }
            None => found.is_true(),
        };
        if is == wanted {
            selected.push(value);
        }
    }
    Ok(Generator::value(selected))
}

fn extreme(value: &Value, args: Args, wanted: Ordering) -> Result<Value, Error> {
    let [case, attribute] = args.bind("max", ["case_sensitive", "attribute"])?;
    let getter = Getter::new(attribute.as_ref(), None, !truth(&case, false));
    let mut best: Option<(Value, Value)> = None;
    for value in items(value)? {
        let key = getter.get(&value)?;
        let better = match &best {
            None => true,
            Some((known, _)) => compare(&key, known)? == Some(wanted),
        };
        if better {
            best = Some((key, value));
        }
    }
    Ok(best.map_or(Value::UNDEFINED, |(_, value)| value))
}

fn reverse(value: &Value) -> Result<Value, Error> {
    if let Some(text) = value.as_str() {
        let text = Text::new(text);
        charge_items(text.plain().len())?;
        let chars: Vec<String> = text.chars().collect();
        return Ok(Value::from(chars.into_iter().rev().collect::<String>()));
    }
    let mut items = items(value)?;
    items.reverse();
    Ok(Generator::value(items))
}

fn sorted(value: &Value, args: Args) -> Result<Value, Error> {
    let [reverse, case, attribute] = args.bind("sort", ["reverse", "case_sensitive", "attribute"])?;
    let lower = !truth(&case, false);
    let attribute = attribute.filter(|attribute| !attribute.is_none());
    let getters: Vec<Getter> = match attribute.as_ref().and_then(|attribute| attribute.as_str()) {
        Some(several) if several.contains(',') => {
            several.split(',').map(|one| Getter::new(Some(&Value::from(one)), None, lower)).collect()
        }
        _ => vec![Getter::new(attribute.as_ref(), None, lower)],
    };
    let mut keyed = Vec::new();
    for value in items(value)? {
        let keys = getters.iter().map(|getter| getter.get(&value)).collect::<Result<Vec<_>, _>>()?;
        keyed.push((list(keys)?, value));
    }
    sort(&mut keyed, truth(&reverse, false), |(keys, _)| keys)?;
    list(keyed.into_iter().map(|(_, value)| value).collect())
}

fn sum(value: &Value, args: Args) -> Result<Value, Error> {
    let [attribute, start] = args.bind("sum", ["attribute", "start"])?;
    let getter = Getter::new(attribute.as_ref(), None, false);
    let mut total = start.unwrap_or_else(|| Value::from(0));
    if total.kind() == ValueKind::String {
        return Err(failed("sum: strings cannot be summed; use join"));
    }
    for value in items(value)? {
        total = arithmetic(&total, &[Value::from("+"), getter.get(&value)?])?;
    }
    Ok(total)
}

fn unique(value: &Value, args: Args) -> Result<Value, Error> {
    let [case, attribute] = args.bind("unique", ["case_sensitive", "attribute"])?;
    let getter = Getter::new(attribute.as_ref(), None, !truth(&case, false));
    let mut seen = std::collections::BTreeSet::new();
    let mut kept = Vec::new();
    for value in items(value)? {
        let key = getter.get(&value)?;
        if is_dict(&key) || (key.kind() == ValueKind::Seq && !key.is_tuple()) {
            return Err(failed("unique: a list or a dict cannot be compared"));
        }
        // Equal values of numbers print alike but for their point.
        let mut text = String::new();
        match super::values::number(&key) {
            Some(number) => write_repr(&mut text, &Value::from(number.float()))?,
            None => write_repr(&mut text, &key)?,
        }
        if seen.insert(text) {
            kept.push(value);
        }
    }
    Ok(Generator::value(kept))
}
