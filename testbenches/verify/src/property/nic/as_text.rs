//! Settings in a checkpoint in the form that they have in a case, where what is plain may be left out. The binary form
//! of a checkpoint cannot leave anything out.

use serde::de::{Deserialize, DeserializeOwned, Deserializer, Error as _};
use serde::ser::{Error as _, Serialize, Serializer};

pub fn serialize<T: Serialize, S: Serializer>(value: &T, to: S) -> Result<S::Ok, S::Error> {
    let text = serde_json::to_string(value).map_err(S::Error::custom)?;
    text.serialize(to)
}

pub fn deserialize<'a, T: DeserializeOwned, D: Deserializer<'a>>(from: D) -> Result<T, D::Error> {
    serde_json::from_str(&String::deserialize(from)?).map_err(D::Error::custom)
}
